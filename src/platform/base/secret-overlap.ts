/**
 * How long a client secret or a secret of a webhook may stay valid beside the one that replaces it,
 * in seconds: 30 days.
 */
export const LONGEST_OVERLAP_SECONDS = 30 * 86_400;
