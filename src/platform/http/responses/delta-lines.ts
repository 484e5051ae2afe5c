import type { Response } from 'express';
import { keepSmall } from '../../base/large-responses.ts';

/** Content type of a stream of deltas. */
export const DELTA_LINES = 'text/event-stream';
/** When a stream ends, the client has this many milliseconds to read what is still in transit. */
const CLOSE_WAIT_MS = 2_000;

/**
 * Answers a request with lines that `write` sends as they occur, and closes the response when it
 * has ended.
 * @param write `onGone` registers a callback for the client's disconnect; `open` sends the headers
 */
export async function sendDeltaLines(
  response: Response,
  write: (onGone: (gone: () => void) => void, open: () => Response) => Promise<void>,
): Promise<void> {
  keepSmall(response);
  await write(
    (gone) => response.once('close', gone),
    () => {
      response.status(200).set({
        'Content-Type': DELTA_LINES,
        'Cache-Control': 'no-cache, no-transform',
        // Tells proxies not to buffer the stream.
        'X-Accel-Buffering': 'no',
      });
      response.flushHeaders();
      return response;
    },
  );
  response.end();
  // Close the connection even if the client stops reading.
  const patience = setTimeout(() => response.destroy(), CLOSE_WAIT_MS);
  response.once('close', () => clearTimeout(patience));
}
