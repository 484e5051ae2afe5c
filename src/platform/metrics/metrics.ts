export { registry } from './registry.ts';
export * from './database-metrics.ts';
export * from './object-metrics.ts';
export * from './queue-metrics.ts';
export * from './request-metrics.ts';
export * from './sync-metrics.ts';

/*
 * Every metric of Carillon (docs/monitoring.md). A metric is declared in one of these files and
 * nowhere else. Names begin with `carillon_`, units are seconds and bytes, counters end with
 * `_total`. No label names an account, an application, an address or an id: the number of series
 * must not grow with them.
 *
 * Counters and histograms count in this process. Metrics marked "Installation" are read from the
 * database when the page is requested (`MetricSources`), so each process reports the same value.
 */
