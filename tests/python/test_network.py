"""Networks and tasks: passes, weights, memory, threads, signals."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import hopbound

OPTIONS = {"hops": 2, "m": 4, "fan": 2}


def resident():
    """Bytes of memory that this process has."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Networks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = hopbound.Network.build("full", **OPTIONS)

    def test_a_network_that_is_built_is_proved_and_answers(self):
        self.assertEqual(self.net.prove().verdict, "proved")
        task = self.net.task
        self.assertEqual(task, hopbound.Task(**OPTIONS))
        tokens, targets = task.batch(7, 100, 50)
        self.assertEqual(self.net.answer(tokens), targets[:, -1].tolist())
        self.assertEqual(self.net.answer(tokens[3]), targets[3, -1])

    def test_a_batch_has_the_bits_of_its_rows(self):
        tokens, _ = self.net.task.batch(1, 0, 5)
        for every in (False, True):
            together = self.net.logits(tokens, every=every)
            for row, prompt in zip(together, tokens):
                np.testing.assert_array_equal(row, self.net.logits(prompt.tolist(), every=every, threads=1))
        np.testing.assert_array_equal(self.net.logits(tokens, every=True)[:, -1], self.net.logits(tokens))
        hidden = self.net.hidden(tokens)
        self.assertEqual(hidden.shape, (5, self.net.task.length, self.net.width))
        np.testing.assert_allclose(hidden @ self.net.weights["lm_head.weight"].T, self.net.logits(tokens, every=True), atol=1e-4)

    def test_weights_are_the_memory_of_the_network(self):
        net = hopbound.Network.build("full", **OPTIONS)
        name = "lm_head.weight"
        with self.assertRaises(ValueError):
            net.weights[name][0, 0] = 1
        before = net.logits(net.task.sample().tokens)
        net.unlock().weights[name][:] = 0
        self.assertEqual(net.weights[name].max(), 0)
        self.assertTrue((before != net.logits(net.task.sample().tokens)).any())
        self.assertEqual(net.prove().verdict, "refuted")  # the weights as they are, and not the file
        self.assertEqual(hopbound.prove(net.path).verdict, "proved")
        with tempfile.TemporaryDirectory() as where:
            net.save(where)
            np.testing.assert_array_equal(hopbound.Network.load(where).weights[name], net.weights[name])

    def test_a_view_outlives_its_network(self):
        net = hopbound.Network.build("full", **OPTIONS)
        view = net.weights["model.embed_tokens.weight"]
        copy = view.copy()
        del net
        for _ in range(20):
            hopbound.Network.build("full", **OPTIONS)
        np.testing.assert_array_equal(view, copy)

    def test_verbs_that_take_a_network_are_methods(self):
        with tempfile.TemporaryDirectory() as where:
            changed = self.net.damage(output=where + "/damaged", seed=3).changed
            self.assertEqual(len(changed), 1)
            self.assertNotEqual(changed[0].to, changed[0].from_)
        with self.assertRaises(AttributeError):
            self.net.bound

    def test_tokens_come_as_lists_arrays_and_wrong_ones_not_at_all(self):
        tokens = self.net.task.sample().tokens
        for given in (tuple(tokens), np.array(tokens), np.array(tokens, np.uint8), np.array([0] * 3 + tokens)[3:]):
            np.testing.assert_array_equal(self.net.logits(given), self.net.logits(tokens))
        for wrong in ([], [0] * 1000, [8], [-1], [2**40], [0.5], "ab", [[0], [0, 1]], np.zeros((2, 2, 2), int)):
            with self.assertRaises(hopbound.BadQuestion):
                self.net.logits(wrong)

    def test_without_numpy_it_works_too(self):
        script = """if True:
            import sys
            sys.modules["numpy"] = None
            import hopbound
            net = hopbound.Network.build("full", hops=2, m=4, fan=2)
            one = net.task.sample(5, 6)
            assert net.answer(one.tokens) == one.answer == net.task.answers(one.tokens)
            assert net.answer([one.tokens] * 2) == [one.answer] * 2
            view = net.weights["model.embed_tokens.weight"]
            assert view.readonly and view.shape[0] == net.vocab
            print(one.answer)"""
        said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual(said.stderr, "")
        self.assertEqual(int(said.stdout), hopbound.Task(**OPTIONS).sample(5, 6).answer)


class Tasks(unittest.TestCase):
    def test_instances_are_those_of_the_program(self):
        said = subprocess.run([os.environ["HOPBOUND_PROGRAM"], "task", "--hops", "2", "--m", "4", "--fan", "2", "--count", "5",
                               "--seed", "9", "--json"], capture_output=True, text=True, check=True).stdout
        import json
        task = hopbound.Task(**OPTIONS)
        for k, it in enumerate(json.loads(said)["instances"]):
            self.assertEqual((task.sample(9, k).tokens, task.sample(9, k).answer), (it["tokens"], it["answer"]))
            self.assertEqual(task.answers(it["tokens"]), it["answer"])

    def test_tasks_that_ask_everywhere_have_targets(self):
        task = hopbound.Task(name="recall", pairs=4, queries=3, keys=8, values=8)
        one = task.sample(1, 1)
        self.assertEqual(one.targets, task.answers(one.tokens))
        self.assertEqual(sum(t >= 0 for t in one.targets), 3)
        self.assertEqual((task.pairs, task.vocab), (4, 16))

    def test_sizes_that_make_no_task_are_refused(self):
        for sizes in ({}, {"hops": 0, "m": 2}, {"hops": 2, "m": 1, "fan": 2}, {"hops": 3, "m": 2, "fan": [2]}, {"name": "walk"}):
            with self.assertRaises(hopbound.Error):
                hopbound.Task(**sizes)


class Calls(unittest.TestCase):
    def test_memory_stays_where_it_is_over_a_thousand_networks(self):
        net = hopbound.Network.build("full", **OPTIONS)
        prompt = net.task.sample().tokens

        def cycle():
            again = hopbound.Network.load(net.path)
            again.logits(prompt)
            list(again.weights.values())
            hopbound.bound(pattern="F F", hops=1)

        for _ in range(200):
            cycle()
        before = resident()
        for _ in range(1000):
            cycle()
        self.assertLess(resident() - before, 1 << 20)

    def test_two_threads_ask_at_once_and_get_what_one_gets(self):
        net = hopbound.Network.build("hybrid", hops=2, m=8, fan=4)
        tokens, _ = net.task.batch(0, 0, 8)
        patterns = ["F F", "(gdn^3 F)^4", "L F L", "F^3"]
        alone = [hopbound.bound(pattern=p, hops=2) for p in patterns], net.logits(tokens)
        wrong = []

        def ask():
            for _ in range(10):
                if [hopbound.bound(pattern=p, hops=2) for p in patterns] != alone[0] or (net.logits(tokens) != alone[1]).any():
                    wrong.append(1)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_a_long_call_lets_other_threads_run_and_stops_on_a_signal(self):
        net = hopbound.Network.build("full", hops=2, m=8, fan=4)
        counted, ended = [0], threading.Event()

        def count():
            while not ended.wait(0.001):
                counted[0] += 1

        other = threading.Thread(target=count)
        other.start()
        timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
        begun = time.monotonic()
        timer.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                net.refute(budget=100)
        finally:
            ended.set()
            other.join()
        self.assertLess(time.monotonic() - begun, 20)
        self.assertGreater(counted[0], 50)
        self.assertEqual(net.prove().verdict, "proved")  # and all goes on

    def test_progress_is_a_line_where_there_is_no_tqdm(self):
        script = """if True:
            import sys
            sys.modules["tqdm"] = sys.modules["tqdm.auto"] = None
            from hopbound import _calls
            import hopbound
            _calls._QUIET = 0.1
            net = hopbound.Network.build("full", hops=2, m=8, fan=4)
            net.refute(budget=1.5, progress=True)
            net.refute(budget=0.5)"""
        said = subprocess.run([sys.executable, "-c", script], capture_output=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn(b"\rguided search ", said.stderr)
        self.assertNotIn(b"\n", said.stderr)

    def test_a_child_of_fork_has_threads_of_its_own(self):
        net = hopbound.Network.build("full", **OPTIONS)
        tokens, targets = net.task.batch(0, 0, 4)
        net.answer(tokens)
        child = os.fork()
        if child == 0:
            os._exit(0 if net.answer(tokens) == targets[:, -1].tolist() else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_it_is_there_at_once_and_asks_in_no_time(self):
        script = "import time; t = time.process_time(); import hopbound; print(time.process_time() - t)"
        least = min(float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout) for _ in range(5))
        self.assertLess(least, 0.05)  # CPU time: wall time is the machine's
        times = []
        for _ in range(300):
            begun = time.perf_counter()
            hopbound.mixers("gdn")  # what takes least: the rest is the call
            times.append(time.perf_counter() - begun)
        self.assertLess(sorted(times)[150], 0.001)
