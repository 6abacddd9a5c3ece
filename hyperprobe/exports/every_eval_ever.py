"""`export every-eval-ever`: a zero-shot run as records of Every Eval Ever (schema 0.3.0).

https://github.com/evaleval/every_eval_ever: one file of aggregates for each model, and beside it
one line for each answer, below `data/COLLECTION/DEVELOPER/MODEL/`.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from hyperprobe.diagnostic.sets import load_set
from hyperprobe.errors import UserError
from hyperprobe.exports.questions import Question, slug, zero_shot_questions
from hyperprobe.names import is_subject
from hyperprobe.probes.zero_shot.outcomes import (
    CALIBRATED,
    CLOSED,
    METRICS,
    PAIRED,
    RAW,
    answers,
    outcome_table,
)
from hyperprobe.render.labels import short_names
from hyperprobe.runs.files import file_digest, write_text
from hyperprobe.runs.read import FinishedRun, read_run
from hyperprobe.runs.signature import COLUMN, of_metric

SCHEMA = "0.3.0"
COLLECTION = "hyperprobe"
SHARES = (*METRICS, *(f"{name}{CALIBRATED}" for name in (*CLOSED, *PAIRED)))
ADDS = tuple(f"{name}_adds" for name in (*CLOSED, "paired_singular_plural"))
UNKNOWN = "unknown"


def export_every_eval_ever(run: Path, folder: Path, organization: str = UNKNOWN) -> list[Path]:
    """Write the records of each model of a zero-shot run that a user named; returns their files.

    `organization` is who evaluated. Raises `UserError` when the run is no zero-shot run, has no
    such model, or its sets are not what they were.
    """
    source = read_run(run)
    if source.command != "zero-shot":
        raise UserError(f"{run} is a run of {source.command}: name one of zero-shot or score")
    metrics = source.table("metrics.csv", ("diagnostic", "model", COLUMN))
    names = [str(name) for name in metrics["model"].unique() if is_subject(str(name))]
    if not names:
        raise UserError(f"{run} has no model that a user named: ask one with --model")
    predictions = source.table("predictions.parquet", ("diagnostic", "model", "probe", "item"))
    questions = _questions(source)
    short = short_names(names)
    written = []
    for name in names:
        record = Record(source, name, short[name], organization)
        mine = predictions[predictions["model"] == name]
        lines = [json.dumps(one) + "\n" for one in record.instances(mine, questions)]
        samples = folder / record.samples_file
        write_text(samples, "".join(lines))
        results = list(record.results(metrics[metrics["model"] == name]))
        about = record.aggregate(results, len(lines), file_digest(samples))
        path = folder / record.file
        write_text(path, json.dumps(about, indent=1) + "\n")
        written.append(path)
    return written


def _questions(source: FinishedRun) -> dict[tuple[str, str, str], Question]:
    """(set, probe, noun) -> the question, of the sets of a run."""
    settings = source.notes["settings"]
    found = {}
    for name, digest in settings["diagnostics"].items():
        of_set = load_set(name)
        if of_set.digest != digest:
            raise UserError(f"{name} has changed since {source.folder}: run zero-shot again")
        for one in zero_shot_questions(of_set, settings["article"]):
            found[name, one.probe, one.noun] = one
    return found


@dataclass(frozen=True)
class Record:
    """What the files of one model of a run say; `short` is its name without folders."""

    run: FinishedRun
    model: str
    short: str
    organization: str

    @property
    def described(self) -> Mapping[str, Any]:
        models = self.run.notes["models"].values()
        return next((one for one in models if one and one.get("name") == self.model), {})

    @property
    def id(self) -> str:
        """`DEVELOPER/MODEL`, the hub's name where it is from there."""
        at_hub = not self.described.get("sha256") and self.model.count("/") == 1
        return self.model if at_hub else f"local/{slug(self.short)}"

    @property
    def evaluation_id(self) -> str:
        return f"{COLLECTION}/{self.id}/{self.timestamp}"

    @property
    def timestamp(self) -> str:
        """When the run was finished, in seconds of Unix time."""
        return str(int(datetime.fromisoformat(self.run.notes["finished"]).timestamp()))

    @property
    def _stem(self) -> str:
        files = json.dumps([self.model, self.run.files], sort_keys=True)  # the same run: the same
        digest = hashlib.sha256(files.encode()).digest()
        return f"data/{COLLECTION}/{self.id}/{uuid.UUID(bytes=digest[:16], version=4)}"

    @property
    def file(self) -> str:
        return f"{self._stem}.json"

    @property
    def samples_file(self) -> str:
        return f"{self._stem}_samples.jsonl"

    def aggregate(
        self, results: list[dict[str, Any]], n_samples: int, digest: str
    ) -> dict[str, Any]:
        """The document of the aggregates."""
        notes, scored = self.run.notes, self.described.get("kind") == "scores"
        deployment = UNKNOWN if scored else "self_deployed"
        details = {"deployment_type": deployment, "model_availability": UNKNOWN}
        info: dict[str, Any] = {"name": self.short, "id": self.id, "additional_details": details}
        if not scored:
            version = notes["packages"]["transformers"] or UNKNOWN
            info["inference_engine"] = {"name": "transformers", "version": version}
        if revision := self.described.get("revision"):
            details["revision"] = str(revision)
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.evaluation_id,
            "evaluation_timestamp": notes["finished"],
            "retrieved_timestamp": self.timestamp,
            "source_metadata": {
                "source_name": "hyperprobe",
                "source_type": "evaluation_run",
                "source_organization_name": self.organization,
                "evaluator_relationship": "other",
            },
            "eval_library": {"name": "hyperprobe", "version": notes["hyperprobe"]},
            "model_info": info,
            "evaluation_results": results,
            "detailed_evaluation_results": {
                "format": "jsonl",
                "file_path": self.samples_file,
                "hash_algorithm": "sha256",
                "checksum": digest,
                "total_rows": n_samples,
            },
        }

    def results(self, metrics: pd.DataFrame) -> Iterator[dict[str, Any]]:
        """One result for each set and metric; percentages, and points for what a question adds."""
        digests = self.run.notes["settings"]["diagnostics"]
        for row in metrics.to_dict("records"):
            diagnostic = str(row["diagnostic"])
            for metric in (*SHARES, *ADDS):
                value = row.get(metric)
                if value is None or value != value:
                    continue
                points = metric in ADDS
                yield {
                    "evaluation_result_id": _result_id(diagnostic, metric),
                    "evaluation_name": f"hyperprobe {slug(diagnostic)}",
                    "source_data": {
                        "dataset_name": slug(diagnostic),
                        "source_type": "other",
                        "additional_details": {"sha256": digests[diagnostic]},
                    },
                    "metric_config": {
                        "metric_id": f"hyperprobe.{metric}",
                        "metric_name": metric.replace("_", " "),
                        "metric_kind": "difference" if points else "accuracy",
                        "metric_unit": "points" if points else "percent",
                        "lower_is_better": False,
                        "score_type": "continuous",
                        "min_score": -100.0 if points else 0.0,
                        "max_score": 100.0,
                    },
                    "score_details": {
                        "score": value,
                        "details": {COLUMN: of_metric(str(row[COLUMN]), metric)},
                        "uncertainty": {
                            "confidence_interval": {
                                "lower": row[f"{metric}_low"],
                                "upper": row[f"{metric}_high"],
                                "confidence_level": 0.95,
                                "method": "bootstrap" if points else "Wilson",
                            },
                            "num_samples": int(row["n_items"]),
                        },
                    },
                }

    def instances(
        self, predictions: pd.DataFrame, questions: Mapping[tuple[str, str, str], Question]
    ) -> Iterator[dict[str, Any]]:
        """A line for each answer, raw and calibrated."""
        for diagnostic, of_set in predictions.groupby("diagnostic", sort=False):
            right = outcome_table(of_set)
            # Candidates are in the order of the categories, in all questions of a set.
            order = {
                one.category: one.gold or 0
                for key, one in questions.items()
                if key[0] == diagnostic
            }
            for probe in CLOSED:
                rows = of_set[of_set["probe"] == probe]
                for suffix in (RAW, CALIBRATED) if len(rows) else ():
                    metric = f"{probe}{suffix}"
                    given = answers(rows, suffix)
                    for noun, score in right[metric].reindex(rows["item"]).items():
                        question = questions[str(diagnostic), probe, str(noun)]
                        answer = given.get(noun)
                        word = question.candidates[order[answer]] if answer else ""
                        yield self._instance(str(diagnostic), metric, question, word, score)

    def _instance(
        self, diagnostic: str, metric: str, question: Question, answer: str, score: float
    ) -> dict[str, Any]:
        gold = question.candidates[question.gold or 0]
        hashed = hashlib.sha256(f"{question.text}{gold}".encode()).hexdigest()
        return {
            "schema_version": SCHEMA,
            "evaluation_id": self.evaluation_id,
            "model_id": self.id,
            "evaluation_name": f"hyperprobe {slug(diagnostic)}",
            "evaluation_result_id": _result_id(diagnostic, metric),
            "sample_id": f"{question.probe}/{question.noun}",
            "sample_hash": hashed,
            "interaction_type": "single_turn",
            "input": {
                "raw": question.text,
                "reference": [gold],
                "choices": list(question.candidates),
            },
            "output": {"raw": [answer]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": answer,
                    "extraction_method": "highest score of the choices",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": float(score), "is_correct": bool(score == 1)},
        }


def _result_id(diagnostic: str, metric: str) -> str:
    return f"{slug(diagnostic)}/{metric}"
