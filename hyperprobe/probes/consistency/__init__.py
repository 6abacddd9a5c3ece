"""Is a model consistent about a noun, however it is asked?"""
