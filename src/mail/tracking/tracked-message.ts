/** Messages are followed for so long after their send time; then what is known of them is deleted. */
export const TRACKED_DAYS = 90;
/** Openings, and clicks, of a message that are kept one by one. */
export const MOST_RECENTS = 50;

/** One opening or click, in the wire's names (api facts 10.4). */
export interface Recent {
  /** 0 for the first of the message. */
  id: number;
  ip: string;
  user_agent: string;
  /** Unix seconds. */
  timestamp: number;
  /** Of a click: the position of its address in `link_data`. */
  link_index?: number;
}
