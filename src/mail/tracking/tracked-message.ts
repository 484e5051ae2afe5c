/**
 * Days after its send time during which a message is tracked. Then its tracking data is deleted.
 */
export const TRACKED_DAYS = 90;
/** Number of openings, and of clicks, that are kept individually for a message. */
export const MOST_RECENTS = 50;

/** One opening or click, in the wire's names. */
export interface Recent {
  /** 0 for the first one of the message. */
  id: number;
  ip: string;
  user_agent: string;
  /** Unix seconds. */
  timestamp: number;
  /** Only for a click: the position of its address in `link_data`. */
  link_index?: number;
}
