/**
 * Reports the progress of long work: the finished part of a step, and the whole. If it
 * throws, the work stops and leaves nothing behind.
 */
export type Report = (step: string, done: number, of: number) => void;
