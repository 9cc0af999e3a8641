"""Runs a program with timm and torchvision, which scripts/bootstrap installs in a folder of their own.

Usage: python with_timm.py PROGRAM

PyPI's torchvision is built for CUDA. Under a CPU build of torch its operators cannot be loaded, and its import fails because it describes two
of them. Here those two are declared then; no program calls them.
"""

import runpy
import sys
from pathlib import Path

import torch

WANTED = Path(__file__).resolve().parents[3] / "scripts/timm-requirements.txt"
FOLDER = Path(sys.prefix) / "timm"
THERE = FOLDER / "requirements.txt"


def main(program):
    if not THERE.exists() or THERE.read_text() != WANTED.read_text():
        sys.exit(f"{FOLDER} lacks what {WANTED.name} names; scripts/bootstrap installs it")
    sys.path.insert(0, str(FOLDER))
    try:
        torch.ops.load_library(FOLDER / "torchvision/_C.so")
    except OSError:
        declared = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            declared.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1])
