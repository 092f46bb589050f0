# SPDX-License-Identifier: MIT
"""An enumerator of small concurrent programs, made to disagree with the checker if the checker is
wrong.

It shares no file, no language and no method with it: brute force over every prefix of every
execution.
"""
