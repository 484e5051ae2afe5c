import { Counter, Gauge } from 'prom-client';
import { shared } from './registry.ts';

/* The database, and this process. */

/** Connections of this process. */
export const poolConnections = new Gauge({
  ...shared,
  name: 'carillon_database_pool_connections',
  help: 'Database connections of this process by pool and state (idle, used)',
  labelNames: ['pool', 'state'],
});

/** Largest number of connections of each pool. */
export const poolSize = new Gauge({
  ...shared,
  name: 'carillon_database_pool_size',
  help: 'Largest number of connections of each pool of this process',
  labelNames: ['pool'],
});

/** Statements that wait for a connection. */
export const poolWaiting = new Gauge({
  ...shared,
  name: 'carillon_database_pool_waiting',
  help: 'Statements and transactions that wait for a connection of their pool now',
  labelNames: ['pool'],
});

/** Statements that found no free connection. */
export const poolWaits = new Counter({
  ...shared,
  name: 'carillon_database_pool_waits_total',
  help: 'Statements and transactions that found all connections of their pool in use',
  labelNames: ['pool'],
});

/** Installation: connections of all clients to the database. */
export const databaseConnections = new Gauge({
  ...shared,
  name: 'carillon_database_connections',
  help: 'Connections of all clients to this database',
});

/** Installation: how many connections the database allows. */
export const databaseConnectionsMax = new Gauge({
  ...shared,
  name: 'carillon_database_connections_max',
  help: 'Connections that the database allows: its own limit, or that of the server without reserved ones',
});

/** Installation: whether what was committed is also stored elsewhere. */
export const databaseSynchronous = new Gauge({
  ...shared,
  name: 'carillon_database_synchronous',
  help: 'Installation: 1 if commits wait for a standby (synchronous_standby_names and synchronous_commit), else 0',
});

/** What the settings of this process say about `databaseSynchronous`. */
export const databaseSynchronousExpected = new Gauge({
  ...shared,
  name: 'carillon_database_synchronous_expected',
  help: '1 if commits should wait for a standby (DATABASE_SYNCHRONOUS is expected or required), else 0',
});

/** Installation: standbys. */
export const databaseStandbys = new Gauge({
  ...shared,
  name: 'carillon_database_standbys',
  help: 'Installation: standbys and other receivers of the write-ahead log that are connected to the primary',
});

/** Installation: commits that hang. */
export const databaseCommitWait = new Gauge({
  ...shared,
  name: 'carillon_database_commit_wait_seconds',
  help: 'Installation: how long no commit has ended, because a synchronous standby does not answer or is not connected; 0 if commits end',
});

/** Installation: what each standby lacks. */
export const databaseStandbyLag = new Gauge({
  ...shared,
  name: 'carillon_database_standby_lag_bytes',
  help: 'Installation: write-ahead log that a standby has not stored yet, by its application_name; absent without the role pg_monitor',
  labelNames: ['standby'],
});

/** Reads of the API, while `DATABASE_READ_URL` names a standby. */
export const databaseReads = new Counter({
  ...shared,
  name: 'carillon_database_reads_total',
  help: 'Reads of the API by route, if DATABASE_READ_URL is set: standby, primary (the standby cannot be used), or repeated (failed on the standby, then sent to the primary)',
  labelNames: ['route'],
});

/** Whether a standby that should answer reads does not. */
export const databaseReadsDiverted = new Gauge({
  ...shared,
  name: 'carillon_database_reads_diverted',
  help: '1 if reads of the API go to the primary although DATABASE_READ_URL names a standby, else 0',
});

/** Installation: size of the database. */
export const databaseBytes = new Gauge({
  ...shared,
  name: 'carillon_database_size_bytes',
  help: 'Size of the database on disk',
});

/** Installation: space of the database (`DATABASE_DISK_GB`). */
export const databaseLimit = new Gauge({
  ...shared,
  name: 'carillon_database_limit_bytes',
  help: 'Space that the database may take (DATABASE_DISK_GB); 0 if it is not set',
});

/** Readiness checks of this process. */
export const checkOk = new Gauge({
  ...shared,
  name: 'carillon_check_ok',
  help: 'Readiness checks of this process (/health/ready): 1 if the check succeeds, else 0',
  labelNames: ['check'],
});

/** Measured every ten seconds. */
export const clockAheadSeconds = new Gauge({
  ...shared,
  name: 'carillon_clock_ahead_seconds',
  help: "How far the clock of this process's machine is ahead of the database's, in seconds; negative if it is behind",
});

/** Whether the gauges of a source are on the page. */
export const sourceUp = new Gauge({
  ...shared,
  name: 'carillon_metrics_source_up',
  help: 'Whether the gauges of a source could be read for this page: 1 or 0; the gauges of a source that could not be read are absent',
  labelNames: ['source'],
});

/** What this process is. */
export const processInfo = new Gauge({
  ...shared,
  name: 'carillon_process_info',
  help: 'Always 1; the label names the roles of the process',
  labelNames: ['roles'],
});
