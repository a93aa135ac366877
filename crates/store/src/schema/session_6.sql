-- Whether everything that was spent has a price is known without going through the turns.
CREATE INDEX bosun_turns_unpriced ON bosun_turns (task) WHERE priced = 0 AND cost_tokens > 0;
