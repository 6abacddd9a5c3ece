"""Where the cells of jobs are computed: in other processes, or on the machines of a cluster."""
