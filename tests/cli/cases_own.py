"""build rotary --like: networks in the own class of a model, and back."""
import json, os

from harness import case, check, good, good_json, hopbound, one_line, read, write

SMALL = {"model_type": "llama", "hidden_size": 224, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 128, "rms_norm_eps": 1e-5, "hidden_act": "silu", "vocab_size": 32000,
         "max_position_embeddings": 8192, "tie_word_embeddings": False, "rope_theta": 500000.0, "bos_token_id": 1,
         "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                          "original_max_position_embeddings": 4096}}


@case
def a_network_in_its_own_class_is_proved_from_the_file_that_the_class_loads():
    for change in ({}, {"model_type": "mistral", "rope_scaling": None, "sliding_window": None},
                   {"model_type": "qwen3", "rope_scaling": None, "tie_word_embeddings": True, "head_dim": None, "hidden_size": 512}):
        source = write("small.json", json.dumps({**SMALL, **change}))
        r = good_json("build", "rotary", "--like", source, "--hops", 2, "--m", 4, "--fan", 4, "-o", "own", keys=["notes", "n"])
        made = json.loads(read("own/config.json"))
        check(made["model_type"] == {**SMALL, **change}["model_type"] and "pattern" not in made, why=str(made))
        check((made["vocab_size"], made["bos_token_id"], made["dtype"]) == (16, None, "float32"), why=str(made))
        check(made["head_dim"] == 128 and "hopbound" in made, why=str(made))
        check(b"AutoModelForCausalLM" in read("own/README.md") and b"do_sample" in read("own/generation_config.json"))
        check(good_json("prove", "own")["verdict"] == "proved", why=str(change))
        check(good_json("run", "own", "--count", 20)["accuracy"] == 1, why=str(change))
        good("damage", "own", "-o", "hurt", "--layer", 1, "--flip", 200, "--seed", 1)
        check(hopbound("prove", "hurt").code in (10, 30) or good_json("run", "hurt", "--count", 20)["accuracy"] == 1)


@case
def what_no_class_can_be_written_for_is_refused():
    few = write("few.json", json.dumps({**SMALL, "num_hidden_layers": 2}))
    one_line(hopbound("build", "rotary", "--like", few, "--hops", 2, "-o", "none"), 2, "few.json: 2 hops need 3 layers")
    strange = write("strange.json", json.dumps({**SMALL, "walrus_tusks": 2}))
    one_line(hopbound("build", "rotary", "--like", strange, "--hops", 1, "-o", "none"), 2, "walrus_tusks")
    narrow = write("narrow.json", json.dumps(SMALL))
    one_line(hopbound("build", "rotary", "--like", narrow, "--hops", 1, "--d-model", 2, "-o", "none"), 2, "room for 0")
    check(not os.path.exists("none"))


STATES = {**SMALL, "hidden_size": 128, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 4, "mamba_n_heads": 4,
          "mamba_d_head": 64, "mamba_d_state": 16, "mamba_n_groups": 2, "rope_theta": 10000.0, "rope_scaling": None, "head_dim": None}
GRANITE = {**STATES, "model_type": "granitemoehybrid", "layer_types": ["mamba", "attention"] * 2, "position_embedding_type": "rope",
           "num_local_experts": 0, "shared_intermediate_size": 512, "embedding_multiplier": 12.0, "logits_scaling": 8.0,
           "residual_multiplier": 0.22, "attention_multiplier": 0.015625}
FALCON = {**STATES, "model_type": "falcon_h1", "head_dim": 64, "mamba_d_ssm": 256, "key_multiplier": 0.5, "embedding_multiplier": 5.0,
          "lm_head_multiplier": 0.04, "ssm_multipliers": [0.5, 1.0, 0.25, 2.0, 0.125]}


@case
def multipliers_and_recurrent_layers_stay_as_the_model_has_them():
    for config in ({**STATES, "model_type": "bamba", "attn_layer_indices": [1, 3]}, GRANITE, FALCON):
        source = write("model.json", json.dumps(config))
        good("build", "rotary", "--like", source, "--hops", 1, "--m", 8, "-o", "own")
        made = json.loads(read("own/config.json"))
        check(all(made[k] == v for k, v in config.items() if "multiplier" in k or k == "logits_scaling"), why=str(made))
        check(good_json("prove", "own")["verdict"] == "proved", why=config["model_type"])
        check(good_json("run", "own", "--count", 20)["accuracy"] == 1, why=config["model_type"])
        for key, value in (("residual_multiplier", 3e7), ("lm_head_multiplier", 3e-7)):
            if key not in config: continue
            write("own/config.json", json.dumps({**made, key: value}))
            r = hopbound("prove", "own", "--json")
            check(r.code in (10, 30) and "proved" != json.loads(r.out)["verdict"], r)
            check(r.code == 10 or "multipliers that are not between" in json.loads(r.out)["why"], r)


@case
def a_table_that_two_of_ours_would_be_is_refused():
    source = write("tied.json", json.dumps({**GRANITE, "tie_word_embeddings": True}))
    one_line(hopbound("build", "rotary", "--like", source, "--hops", 1, "-o", "none"), 2, "embed_tokens.weight.*two of ours")
