# SPDX-License-Identifier: Apache-2.0
"""What jobs of Ray and Spark refuse on the driver, before a worker begins; tables of other packages given to map. The tests need neither Ray nor
Spark."""
import gc
import os
import pathlib
import pickle
import tempfile
import unittest
import unittest.mock
import weakref

import libpdl
from libpdl import _partitions


def job(program, jobs=4, env=None):
    return _partitions.job_of(program, jobs, None, None, None, env or {}, None)[0]


class Table:
    """Has the methods of tables of pandas, Polars and Arrow that map uses."""

    def __init__(self, way):
        self.columns = ["word"]
        setattr(self, way, lambda *a, **k: [])

    def __iter__(self):
        return iter(self.columns)


class Partitions(unittest.TestCase):
    def test_budgets(self):
        for budget, found in ((None, None), ("calls=1, tokens=2", {"calls": 1, "tokens": 2}), ({"cost": 0.5}, {"cost": 0.5}), ({}, {})):
            with self.subTest(budget):
                self.assertEqual(_partitions.budget_of(budget), found)
        for budget in ("calls=abc", "calls", "dogs=1", "calls=-1", "calls=nan", {"calls": "x"}, {"calls": None}, 5, ["calls"], "calls=1,,"):
            with self.subTest(budget), self.assertRaisesRegex(ValueError, "budget: expected some of calls=N,tokens=N,cost=X, not "):
                _partitions.budget_of(budget)

    def test_broken_programs_are_errors_of_the_driver(self):
        for text in ("text: [\n", "model: a\ninputs: x\n"):
            with self.subTest(text), self.assertRaises(libpdl.ProgramError):
                job(text)
        with self.assertRaises(FileNotFoundError):
            job("nowhere.pdl")
        for jobs in (0, -1, "4"):
            with self.subTest(jobs), self.assertRaisesRegex((TypeError, libpdl.UsageError), "jobs"):
                job("text: a\n", jobs)

    def test_columns(self):
        _partitions.check_columns(["a", "b"], {"a": "b", "b": "a"})
        _partitions.check_columns([], {"a": "b"})  # the columns are not known
        for names, renamed, message in ((["a", "error"], None, "column 'error'"), (["a"], {"c": "x"}, r"no column 'c' \(columns: a\)"),
                                        (["a", "b"], {"a": "b"}, "'a' and 'b' both give the variable 'b'")):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                _partitions.check_columns(names, renamed)

    def test_a_worker_that_is_kept_has_the_program_of_each_job(self):
        """Two folders with the same text include two different files; another address of a model needs another engine."""
        with tempfile.TemporaryDirectory() as folder:
            programs = []
            for name in ("a", "b"):
                (pathlib.Path(folder) / name).mkdir()
                (pathlib.Path(folder) / name / "part.pdl").write_text("text: %s\n" % name)
                programs.append(pathlib.Path(folder) / name / "p.pdl")
                programs[-1].write_text("include: part.pdl\n")
            got = [_partitions.run_rows(job(p), [{}], "0")["result"] for p in programs]
            self.assertEqual(got, [['"a"'], ['"b"']])
        before = dict(os.environ)
        try:
            self.assertIsNot(_partitions._program_of(job("text: a\n", env={"PDL_A_JOB": "1"})),
                             _partitions._program_of(job("text: a\n", env={"PDL_A_JOB": "2"})))
            self.assertEqual(os.environ["PDL_A_JOB"], "2")
        finally:
            os.environ.clear()
            os.environ.update(before)

    def test_missing_variables_are_errors_of_the_driver(self):
        text = "text: ${ word } ${ rest | default('') }\n"
        for columns, renamed in ((["word"], None), (["wrd"], {"wrd": "word"}), ([], None)):
            with self.subTest(columns):
                _partitions.job_of(text, 4, None, None, renamed, {}, None, columns)
        with self.assertRaisesRegex(ValueError, r"needs the variable 'word', and no column gives it \(columns: wrd, id\)"):
            _partitions.job_of(text, 4, None, None, None, {}, None, ["wrd", "id"])

    def test_the_environment_of_a_job_is_not_that_of_the_next(self):
        """Engines read the environment for each run: otherwise the address and the key of another job would be used."""
        seen = []
        with unittest.mock.patch.dict(os.environ, {"PDL_KEPT": "worker"}):
            for env in ({"PDL_A_JOB": "1", "PDL_KEPT": "job"}, {"PDL_A_JOB": "2"}, {"PDL_A_JOB": "1", "PDL_KEPT": "job"}, {}):
                _partitions._program_of(job("text: a\n", env=env))
                seen.append((os.environ.get("PDL_A_JOB"), os.environ.get("PDL_KEPT")))
        self.assertEqual(seen, [("1", "job"), ("2", "worker"), ("1", "job"), (None, "worker")])

    def test_a_worker_keeps_engines_of_the_last_jobs_only(self):
        first = weakref.ref(_partitions._program_of(job("text: first\n")))
        for i in range(2 * _partitions.MAX_ENGINES):
            _partitions._program_of(job("text: job %d\n" % i))
        gc.collect()
        self.assertEqual(len(_partitions._engines), _partitions.MAX_ENGINES)
        self.assertIsNone(first())

    def test_keys_are_not_shown_with_a_job(self):
        one = job("text: a\n", env={"OPENAI_API_KEY": "sk-of-the-job"})
        self.assertNotIn("sk-of-the-job", "%r %s" % (one, one))
        self.assertEqual(pickle.loads(pickle.dumps(one))["env"], {"OPENAI_API_KEY": "sk-of-the-job"})

    def test_a_worker_makes_one_engine(self):
        """A worker starts an engine and its threads only once, and not for each batch of rows."""
        one = job("text: ${ word }\n")
        with unittest.mock.patch("libpdl.Engine", wraps=libpdl.Engine) as made:
            for i in range(5):
                self.assertEqual(_partitions.run_rows(one, [{"word": "w%d" % i}], str(i))["result"], ['"w%d"' % i])
        self.assertEqual(made.call_count, 1)

    def test_tables_given_to_map(self):
        program = libpdl.loads("text: ${ word }\n")
        for rows, way in ((Table("to_dict"), "to_dict('records')"), (Table("to_pylist"), "to_pylist()"), (Table("iter_rows"), "iter_rows(named=True)"),
                          ({"word": ["a", "b"]}, "dict(zip(")):
            with self.subTest(way), self.assertRaises(TypeError) as raised:
                list(program.map(rows))
            self.assertIn(way, str(raised.exception))
        rows = {"word": ["a", "b"]}  # the message of the error is made by this expression
        self.assertEqual([r.value for r in program.map([dict(zip(rows, r)) for r in zip(*rows.values())])], ["a", "b"])


if __name__ == "__main__":
    unittest.main()
