/**
 * States of a queue row, for SQL. A waiting row runs when its `run_at` has come. A claimed row
 * belongs to a worker. Indexes of the queues are limited to one state, so statements contain the
 * number and not a parameter.
 */
export const ROW_WAITING = 0;
export const ROW_CLAIMED = 1;
