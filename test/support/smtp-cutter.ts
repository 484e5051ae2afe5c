import type { Judge, Piece, Verdict } from './tcp-proxy.ts';

/**
 * Points in the conversation that sends a message, in order. The client sends the whole envelope at
 * once (RFC 2920).
 */
export const SMTP_POINTS = [
  'connection',
  'greeting',
  'greeting answered',
  'envelope',
  'envelope answered',
  'content begun',
  'dot',
  'dot answered',
] as const;
export type SmtpPoint = (typeof SMTP_POINTS)[number];

/**
 * Follows one SMTP conversation.
 * @returns a function that names the point a piece belongs to, or returns `null` for a piece
 *   between the points
 */
function follow(): (piece: Piece) => SmtpPoint | null {
  let next: SmtpPoint = 'connection';
  let tail = '';
  const at = (point: SmtpPoint, then: SmtpPoint): SmtpPoint => {
    next = then;
    return point;
  };
  return ({ from, bytes }) => {
    if (next === 'connection') return at('connection', 'greeting');
    const text = bytes.toString('latin1');
    if (next === 'greeting' && from === 'server') return at('greeting', 'greeting answered');
    if (next === 'greeting answered' && from === 'server')
      return at('greeting answered', 'envelope');
    if (next === 'envelope' && from === 'client') return at('envelope', 'envelope answered');
    if (next === 'envelope answered' && text.includes('354 '))
      return at('envelope answered', 'content begun');
    if ((next === 'content begun' || next === 'dot') && from === 'client') {
      tail = (tail + text).slice(-5);
      if (tail === '\r\n.\r\n') return at('dot', 'dot answered');
      return next === 'content begun' ? at('content begun', 'dot') : null;
    }
    return next === 'dot answered' && from === 'server' ? 'dot answered' : null;
  };
}

/**
 * Applies the verdict to the first conversation that reaches the point. All other conversations
 * pass.
 */
export class SmtpCutter {
  /** Number of conversations that were cut. */
  cuts = 0;

  constructor(
    private readonly point: SmtpPoint,
    private readonly verdict: Verdict,
  ) {}

  readonly judgeNext = (): Judge => {
    const pointOf = follow();
    return (piece) => {
      if (pointOf(piece) !== this.point || this.cuts > 0) return 'pass';
      this.cuts += 1;
      return this.verdict;
    };
  };
}
