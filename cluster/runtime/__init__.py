"""The distributed machine without Ray: tasks, queue, ledger, coordinator, jobset, session, drive."""
