import type { Judge, Piece, Verdict } from './tcp-proxy.ts';

/** Points of a message's way to the server, in their order. The client sends the whole envelope at once (RFC 2920). */
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

/** Reads along one SMTP conversation. @returns a function that names the point each piece belongs to; null: none */
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

/** Cuts the first conversation that reaches the point, by the verdict; every other one passes. */
export class SmtpCutter {
  /** Conversations that were cut. */
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
