import { describeReport, lookUpAdvisories, readAllowed } from './lib/advisories.ts';

const report = await lookUpAdvisories(readAllowed());
process.stdout.write(`${describeReport(report)}\n`);
if (report.checked && report.failing.length > 0) process.exitCode = 1;
