/**
 * Is told how far long work is: how much of how much of one step. What it
 * throws stops the work, which then leaves nothing behind.
 */
export type Report = (step: string, done: number, of: number) => void;
