/**
 * Reports the progress of long work: how much of one step is done, and of how
 * much. What it throws stops the work, which then leaves nothing behind.
 */
export type Report = (step: string, done: number, of: number) => void;
