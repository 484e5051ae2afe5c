import { Registry } from 'prom-client';

/** All metrics of this process. */
export const registry = new Registry();

/** Options of every metric. */
export const shared = { registers: [registry] };

/** Buckets for answers of this server and of others, in seconds. */
export const ANSWER_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Buckets for lateness, in seconds: a message may be late by hours. */
export const LATE_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400];
