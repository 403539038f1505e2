# SPDX-License-Identifier: BSD-3-Clause
"""What check.py checks of the model of memory."""

# Shape of litmus.pml, orders, whether C allows the outcome.
LITMUS = [
    ("MESSAGE_PASSING", "RELEASE ACQUIRE", False),
    ("MESSAGE_PASSING", "RELAXED ACQUIRE", True),
    ("MESSAGE_PASSING", "RELEASE RELAXED", True),
    ("STORE_BUFFERING", "SEQ_CST SEQ_CST SEQ_CST SEQ_CST", False),
    ("STORE_BUFFERING", "RELEASE SEQ_CST SEQ_CST SEQ_CST", True),
    ("STORE_BUFFERING", "SEQ_CST ACQUIRE SEQ_CST SEQ_CST", True),
    ("INDEPENDENT_READS", "SEQ_CST SEQ_CST SEQ_CST", False),
    ("INDEPENDENT_READS", "RELEASE ACQUIRE ACQUIRE", True),
    ("INDEPENDENT_READS", "SEQ_CST ACQUIRE SEQ_CST", True),
    ("INDEPENDENT_READS", "SEQ_CST SEQ_CST ACQUIRE", True),
    ("COHERENCE", "RELAXED RELAXED RELAXED", False),
    ("CAUSALITY", "RELEASE ACQUIRE RELEASE ACQUIRE", False),
    ("CAUSALITY", "RELEASE ACQUIRE RELAXED ACQUIRE", True),
    # The reader between has seen the store, so later readers see it too.
    ("CAUSALITY", "RELAXED RELAXED RELEASE ACQUIRE", False),
    ("READ_TO_WRITE", "SEQ_CST SEQ_CST SEQ_CST SEQ_CST", False),
    # The case of an acquire load of top in steal.
    ("READ_TO_WRITE", "ACQUIRE SEQ_CST SEQ_CST SEQ_CST", True),
    ("READ_TO_WRITE", "SEQ_CST ACQUIRE SEQ_CST SEQ_CST", True),
    ("TOLD_OF_WRITE", "RELEASE ACQUIRE", False),
    ("TOLD_OF_WRITE", "RELAXED ACQUIRE", True),
    ("TOLD_OF_WRITE", "RELEASE RELAXED", True),
    ("THREE_BUFFERS", "SEQ_CST SEQ_CST SEQ_CST SEQ_CST", False),
    ("THREE_BUFFERS", "SEQ_CST SEQ_CST RELEASE SEQ_CST", True),
    ("THREE_BUFFERS", "SEQ_CST SEQ_CST SEQ_CST ACQUIRE", True),
    ("SWAP", "RELAXED", False),
    ("SEQUENCE", "RELEASE RELAXED ACQUIRE", False),
    ("SEQUENCE", "RELAXED RELEASE ACQUIRE", True),
    # A limit of the model: C alone would allow this one.
    ("LOAD_BUFFERING", "RELAXED RELAXED", False),
]
