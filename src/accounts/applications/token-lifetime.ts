/** Allowed lifetimes of access tokens, in seconds: from a minute to ten years. */
export const SHORTEST_TOKEN_SECONDS = 60;
export const LONGEST_TOKEN_SECONDS = 315_359_999;
