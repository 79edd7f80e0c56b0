"""The identity of a page: what tells it from other pages whose main text is nearly the same.

Pages of one site share templates, terms of sale and biographies. A few words tell them apart: the names (heading and
title), the values (sizes, dates, prices), short facts, and the sentences. An identity is a sketch of these in 11 to
230 bytes, 65 on average, which a store keeps with the record of each page.
"""
