"""How do a question and a rule become rows?"""
