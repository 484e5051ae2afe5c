/*
 * The few parts of Nest that services use, without the rest of it. `@nestjs/common` has 400 files,
 * half of them of rxjs, and takes 0.1 s to load. Import from here what a command of `carillon` also
 * uses (docs/adr/0093).
 */
import 'reflect-metadata';

export { Injectable } from '@nestjs/common/decorators/core/injectable.decorator.js';
export { Logger } from '@nestjs/common/services/logger.service.js';
