"""Events of a transcript, folded into what a page shows. Shared by all harnesses."""
