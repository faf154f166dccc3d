"""Executors that need no Ray, the handover from this process to Ray workers, and the choice by name."""
