// The records that the suite of stores makes, for the tests of this adapter's own ways.
export * from '../../src/testing/store-suite/made-records.js';
