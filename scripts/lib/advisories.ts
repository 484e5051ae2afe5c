import fs from 'node:fs';
import path from 'node:path';
import { ROOT, runCommand } from './project.ts';

/** How long to wait for the registry, in milliseconds. */
const LIMIT_MS = 10_000;
/** Advisories of these severities fail the check. */
const FAILING = new Set(['high', 'critical']);
const ALLOWED = path.join(ROOT, 'scripts/advisories-allowed.json');

/** An advisory that is allowed until a given day. */
export interface AllowedAdvisory {
  /** Identifier of the advisory, GHSA-… */
  id: string;
  /** Why the advisory does not affect Carillon. */
  reason: string;
  /** Last day on which the advisory is allowed, YYYY-MM-DD, in UTC. */
  until: string;
}

/** One advisory about a production dependency. */
export interface Advisory {
  id: string;
  package: string;
  severity: string;
  title: string;
  url: string;
}

/** Result of asking the registry. */
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

/**
 * Reads the list of allowed advisories.
 * @throws {Error} if an entry has no valid id, reason or day; the error names the entry
 */
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
 * Evaluates the output of `npm audit --json`.
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
      // A string refers to another vulnerable package, which has its own entry.
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

/** Asks the registry for advisories about production dependencies. Takes at most ten seconds. */
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

/** Formats the report for people. */
export function describeReport(report: AdvisoryReport): string {
  if (!report.checked) {
    return `NOT CHECKED: the registry did not answer, so advisories about dependencies are unknown: ${report.why}`;
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
