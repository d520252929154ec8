/// Numbers that look random and are the same in every run (SplitMix64).
package struct Dice: RandomNumberGenerator {
    private var state: UInt64

    package init(_ seed: UInt64) { state = seed }

    package init(_ seeds: UInt64...) {
        state = 0
        for seed in seeds { state = (state ^ seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }
        state ^= next()
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    package mutating func roll(_ sides: Int) -> Int { Int(next() % UInt64(sides)) }

    /// Returns true in so many of 100 throws.
    package mutating func hits(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    package mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &self)]
    }
}
