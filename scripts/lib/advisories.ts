import fs from 'node:fs';
import path from 'node:path';
import { ROOT, runCommand } from './project.ts';

/** A registry that does not answer is waited for this long. */
const LIMIT_MS = 10_000;
/** Advisories of these severities fail the check. */
const FAILING = new Set(['high', 'critical']);
const ALLOWED = path.join(ROOT, 'scripts/advisories-allowed.json');

/** An advisory that does not fail the check until a day. */
export interface AllowedAdvisory {
  /** Its identifier, GHSA-… */
  id: string;
  /** Why it does not concern Carillon. */
  reason: string;
  /** Last day it is allowed, YYYY-MM-DD, in UTC. */
  until: string;
}

/** One advisory about a package that production needs. */
export interface Advisory {
  id: string;
  package: string;
  severity: string;
  title: string;
  url: string;
}

/** What came of a look-up. */
export type AdvisoryReport =
  | { checked: false; why: string }
  | { checked: true; failing: Advisory[]; allowed: Advisory[]; lesser: number };

interface AuditAnswer {
  vulnerabilities?: Record<string, { via: (string | AuditSource)[] }>;
  message?: string;
}
interface AuditSource {
  name: string;
  title: string;
  url: string;
  severity: string;
}

/** The list of allowed advisories. @throws {Error} naming the entry that has no id, reason or day */
export function readAllowed(file = ALLOWED): AllowedAdvisory[] {
  const entries = JSON.parse(fs.readFileSync(file, 'utf8')) as Partial<AllowedAdvisory>[];
  return entries.map(({ id = '', reason = '', until = '' }, index) => {
    if (
      !/^GHSA(-[a-z0-9]{4}){3}$/.test(id) ||
      reason.trim() === '' ||
      !/^\d{4}-\d{2}-\d{2}$/.test(until)
    )
      throw new Error(
        `${path.basename(file)}: entry ${index + 1} needs id (GHSA-…), reason and until (YYYY-MM-DD)`,
      );
    return { id, reason, until };
  });
}

/**
 * Judges what `npm audit --json` printed.
 * @param today YYYY-MM-DD
 */
export function judge(
  output: string,
  allowed: readonly AllowedAdvisory[],
  today: string,
): AdvisoryReport {
  let answer: AuditAnswer;
  try {
    answer = JSON.parse(
      output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1),
    ) as AuditAnswer;
  } catch {
    return {
      checked: false,
      why: output.trim().split('\n')[0] || `no answer within ${LIMIT_MS / 1000} s`,
    };
  }
  if (!answer.vulnerabilities)
    return { checked: false, why: answer.message ?? 'the registry gave no advisories' };
  const found = new Map<string, Advisory>();
  for (const { via } of Object.values(answer.vulnerabilities)) {
    for (const source of via) {
      // A text names another vulnerable package, which has an entry of its own.
      if (typeof source === 'string') continue;
      const { name, title, url, severity } = source;
      const id = url.split('/').at(-1) ?? url;
      found.set(`${id} ${name}`, { id, package: name, severity, title, url });
    }
  }
  const serious = [...found.values()].filter(({ severity }) => FAILING.has(severity));
  const isAllowed = ({ id }: Advisory) =>
    allowed.some((entry) => entry.id === id && entry.until >= today);
  return {
    checked: true,
    failing: serious.filter((advisory) => !isAllowed(advisory)),
    allowed: serious.filter(isAllowed),
    lesser: found.size - serious.length,
  };
}

/** Asks the registry about the packages that production needs; takes ten seconds at most. */
export async function lookUpAdvisories(
  allowed: readonly AllowedAdvisory[],
): Promise<AdvisoryReport> {
  const { output } = await runCommand(
    `npm audit --omit=dev --json --fetch-retries=0 --fetch-timeout=${LIMIT_MS - 2_000}`,
    'pipe',
    {},
    LIMIT_MS,
  );
  return judge(output, allowed, new Date().toISOString().slice(0, 10));
}

const line = ({ id, package: name, severity, title, url }: Advisory): string =>
  `  ${id} ${name} (${severity}): ${title}  ${url}`;

/** The report in words. */
export function describeReport(report: AdvisoryReport): string {
  if (!report.checked) {
    return `NOT CHECKED: whether there are advisories about our dependencies. The registry did not answer: ${report.why}`;
  }
  const { failing, allowed, lesser } = report;
  const parts = [
    failing.length > 0 &&
      ['Advisories of high or critical severity:', ...failing.map(line)].join('\n'),
    failing.length > 0 &&
      'Update the package. If it does not concern us, say why in scripts/advisories-allowed.json, until a day.',
    allowed.length > 0 && ['Allowed for now:', ...allowed.map(line)].join('\n'),
    `${failing.length} advisories fail the check, ${allowed.length} are allowed, ${lesser} are of lower severity.`,
  ];
  return parts.filter((part) => part !== false).join('\n');
}
