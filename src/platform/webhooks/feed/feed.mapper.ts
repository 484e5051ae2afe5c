import { toUnixSecondsOrNull } from '../../base/time/unix-seconds.ts';
import type { FeedProgress } from './feed-progress.ts';
import type { FeedProgressView, FeedView } from './feed.schema.ts';
import type { FeedPage } from './feed.service.ts';

export function toFeedView({ start, end, deltas, more }: FeedPage): FeedView {
  return {
    cursor_start: start,
    cursor_end: end,
    deltas: deltas as FeedView['deltas'],
    has_more: more,
  };
}

export function toFeedProgressView(progress: FeedProgress): FeedProgressView {
  return {
    cursor: progress.position,
    acknowledged_at: toUnixSecondsOrNull(progress.acknowledgedAt),
    waiting: progress.waiting,
    waiting_is_more: progress.waitingIsMore,
  };
}
