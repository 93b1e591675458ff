"""A model of the protocol of streams, events and memory, and a search through all its states.

The protocol decides who may use, reuse and give back memory and queues while kernels run on
several streams and several threads take turns. A test meets a few of the possible orders; here a
search goes through all of them, for small programs of two threads.

How to read it, in this order:

- ``protocol.py``, then ``launches.py``, ``timelines.py`` and ``memory.py``: what the library does,
  a method per transition. The functions of ``core/warm/*.pxi`` that do the same have the same
  names; ``test_names.py`` compares them.
- ``driver.py``: what native calls and the device do.
- ``world.py``: the state, and the invariants:

  == ======================================================================================
  I1 no kernel and no host access touches memory that went back to the driver or its owner
  I2 no two owners use the same memory out of order
  I3 no native call uses a queue or an event that is destroyed or recorded again
  I4 a read sees the write before it in the program, a write comes after the reads before it
  I5 nothing is taken for done that has not run; close returns when the work before it is done
  I6 nobody waits for ever, and at the end nothing is left over
  == ======================================================================================

- ``programs.py``: the programs. They have no races of their own, so what breaks is the protocol.
- ``mutants.py`` and ``faulty_*.py``: protocols with one broken rule each, and the program that
  shows it.
- ``search.py``: the search. It goes breadth first, so a trace is a shortest one.

``python -m tests.model`` runs every program, ``python -m tests.model WaitedIsNotedFirst`` tells
how a mutant fails, step by step; ``--all 1`` adds all programs of a launch and an operation per
thread (``short_programs.py``), ``--some 100 --length 2`` longer ones at random.

To extend it: change a rule here first, run the search, then change the code. A new operation is a
method of ``Protocol`` and a function in ``programs.py``. A new rule needs a mutant without it: a
rule that no program misses is either superfluous or not covered.

What is not in it: the pool's bins and splitting (``tests/pool`` has those), sizes, the Python
threads' own data races (the lock is taken for granted) and more than one device.
"""
