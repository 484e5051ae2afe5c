import type { Finding } from './finding.ts';
import { median, round } from './statistics.ts';
import type { CpuEach } from './usage.ts';

/** A round of one side: its rate, and its processor time for each piece of work. */
export interface Round {
  perSecond: number;
  cpu: CpuEach;
}

/** What a row needs against its reference. */
export interface Needs {
  /** Least share of the reference's rate, for example 0.8. */
  share: number;
  /** Share of the reference's rate to aim at, or `null` if there is no further aim. */
  aim: number | null;
  /** Most processor time, as a multiple of the reference's, PostgreSQL included. */
  cpu: number;
}

/** Program and PostgreSQL together; NaN where processor times are unknown. */
const together = ({ process, postgres }: CpuEach): number =>
  process === null ? Number.NaN : process + (postgres ?? 0);

/**
 * Compares rounds of Carillon with those of a bare program that does the same work: one finding for
 * the rate, one for the processor time. Both compare medians. Rates of a shared machine change from
 * round to round; processor times hardly do.
 * @param what the compared work, for example `GET /messages at 50 connections`
 * @param reference name of the other side, for example `raw Express`
 */
export function compare(
  what: string,
  reference: string,
  rounds: Readonly<Record<'carillon' | 'raw', readonly Round[]>>,
  needs: Needs,
): Finding[] {
  const rate = (side: 'carillon' | 'raw') => median(rounds[side].map((one) => one.perSecond));
  const cpu = (side: 'carillon' | 'raw') => median(rounds[side].map((one) => together(one.cpu)));
  const [ours, raw] = [rate('carillon'), rate('raw')];
  const [oursMs, rawMs] = [cpu('carillon'), cpu('raw')];
  const rates: Finding = {
    what: `${what}: ${round(ours, 0)} a second against ${round(raw, 0)} of ${reference}`,
    measured: round(ours / raw),
    needed: needs.share,
    aim: needs.aim,
    better: 'more',
    unit: '',
    figures: rounds,
  };
  if (Number.isNaN(oursMs) || Number.isNaN(rawMs)) return [rates];
  const times: Finding = {
    what: `${what}: processor time, ${round(oursMs)} ms against ${round(rawMs)} ms of ${reference}`,
    measured: round(oursMs / rawMs),
    needed: needs.cpu,
    aim: null,
    better: 'less',
    unit: ' times',
    figures: {},
  };
  return [rates, times];
}
