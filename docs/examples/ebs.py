#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ebs.py DISK: make a snapshot of EBS from a raw disk, of its data alone."""
import base64
import hashlib
import json
import os
import subprocess
import sys

try:
    import boto3
except ImportError:
    sys.exit("ebs.py: the Python module boto3 is not installed")

BLOCK = 512 << 10  # the only size that EBS has

if len(sys.argv) != 2:
    print("usage: ebs.py DISK", file=sys.stderr)
    sys.exit(2)
blocks = json.loads(subprocess.run(
    ["hone", "digest", "-f", "raw", "--json", "--blocks", str(BLOCK), sys.argv[1]],
    check=True, stdout=subprocess.PIPE).stdout)
ebs = boto3.client("ebs", endpoint_url=os.environ.get("AWS_ENDPOINT_URL"))
snapshot = ebs.start_snapshot(
    VolumeSize=(blocks["virtual_size"] + (1 << 30) - 1) >> 30)["SnapshotId"]
total = hashlib.sha256()
with open(sys.argv[1], "rb") as disk:
    for block in blocks["blocks"]:
        disk.seek(block["offset"])
        data = disk.read(block["length"])
        digest = bytes.fromhex(block["digests"]["sha256"])
        if len(data) < BLOCK:  # the last block of a disk
            data = data.ljust(BLOCK, b"\0")
            digest = hashlib.sha256(data).digest()
        # EBS refuses a block that does not have the digest.
        ebs.put_snapshot_block(
            SnapshotId=snapshot, BlockIndex=block["index"], BlockData=data,
            DataLength=BLOCK, Checksum=base64.b64encode(digest).decode(),
            ChecksumAlgorithm="SHA256")
        total.update(digest)
ebs.complete_snapshot(
    SnapshotId=snapshot, ChangedBlocksCount=len(blocks["blocks"]),
    Checksum=base64.b64encode(total.digest()).decode(),
    ChecksumAlgorithm="SHA256", ChecksumAggregationMethod="LINEAR")
print(snapshot, "has", len(blocks["blocks"]), "blocks")
