"""Where jobs run: in this process, in its threads, or in workers on Ray, which only host.py imports."""
