#!/usr/bin/env python3
"""One table of what the benchmarks wrote: table.py [FILE.json...] [--json OUT]
[--products FILE] [--muon FILE].

Every FILE is Google Benchmark's JSON with the counters of bench/Compare.h; --json
puts them, and what ProductBench and MuonBench wrote, together in one file. Prints
Markdown, of no FILE only where the figures are from."""

import argparse
import datetime
import json
import os
import sys


def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def rate(entry):
    for key, value in entry.items():
        if key.startswith("rate_G"):
            unit = key[len("rate_G"):]
            return f"{number(value)} G{unit}/s"
    return ""


def rows_of(entries):
    for entry in entries:
        if entry.get("error_occurred"):
            yield [entry["name"], "", "", "", "", "", "failed: " + entry["error_message"]]
            continue
        if "ratio" not in entry:
            continue
        bound = entry.get("bound")
        note = "" if bound is None or entry["ratio"] <= bound else "above"
        yield [entry["name"].split("/iterations:")[0], entry.get("label", ""),
               number(entry["ours_ms"]), number(entry["other_ms"]),
               f"{entry['ratio']:.2f}", "" if bound is None else f"{bound:g} {note}".strip(),
               rate(entry)]


def context_here():
    """What Google Benchmark would say of where the figures are from."""
    machine = "unknown machine"
    try:
        with open("/proc/cpuinfo") as file:
            machine = next((line.split(":", 1)[1].strip() for line in file
                            if line.startswith("model name")), machine)
    except OSError:
        pass
    return {"machine": machine, "load_avg": os.getloadavg(),
            "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--json", help="file for all figures")
    parser.add_argument("--products", help="what ProductBench wrote, for --json")
    parser.add_argument("--muon", help="what MuonBench wrote, for --json")
    options = parser.parse_args()
    contexts, entries = [], []
    for path in options.files:
        with open(path) as file:
            content = json.load(file)
        contexts.append(content["context"])
        entries += content["benchmarks"]
    context = contexts[0] if contexts else context_here()
    place = f"{context['date'][:10]}, load {context['load_avg'][0]:.1f}."
    if contexts:
        print(f"{context.get('machine', 'unknown machine')}, {context.get('isa', '?')}, "
              f"{context.get('threads', '?')} threads, {place} Medians of "
              f"{context.get('clock', 'elapsed')} time, of "
              "runs that alternate; ratio = Steep's time / the other's.")
        print()
        print("| benchmark | beside | Steep ms | other ms | ratio | at most | rate |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    else:
        print(f"{context['machine']}, {place} Medians of runs that alternate.")
    failed = False
    for row in rows_of(entries):
        failed |= row[-1].startswith("failed")
        print("| " + " | ".join(row) + " |")
    if options.json:
        everything = {"context": context, "benchmarks": entries}
        for name, path in (("products", options.products), ("muon", options.muon)):
            if path:
                with open(path) as file:
                    everything[name] = json.load(file)
        with open(options.json, "w") as file:
            json.dump(everything, file, indent=1)
            file.write("\n")
    return 1 if failed else 0


sys.exit(main())
