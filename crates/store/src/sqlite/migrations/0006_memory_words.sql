-- The words of an item as numbers, so that opening does not take all texts apart again. A copy: without it they are made
-- of the text. A new text begins without.
ALTER TABLE memories ADD COLUMN words_form INTEGER;
ALTER TABLE memories ADD COLUMN words BLOB;          -- pairs of a 32-bit number and a 32-bit float, little-endian
ALTER TABLE memory_chunks ADD COLUMN words_form INTEGER;
ALTER TABLE memory_chunks ADD COLUMN words BLOB;
