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
