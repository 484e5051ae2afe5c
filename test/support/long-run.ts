import { LONG_RUN } from './sized.ts';

// Files of test/long import this module first, so that the storms they import have their full size.
process.env[LONG_RUN] = 'true';
