/// Floating-point numbers as integers, as in KFSystem, which this module does not know. Samples of pixels are of type
/// `Float`, and their loops keep them in range.
extension FixedWidthInteger {
    /// The number without its fraction: the nearest one that fits, and 0 for NaN.
    init(clamping number: Double) {
        self = Self(exactly: number.rounded(.towardZero)) ?? (number > 0 ? .max : number < 0 ? .min : 0)
    }
}

extension Int {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    init(_ number: Double) { self.init(clamping: number) }
}

extension Int64 {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    init(_ number: Double) { self.init(clamping: number) }
}

extension UInt64 {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    init(_ number: Double) { self.init(clamping: number) }
}

extension UInt8 {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    init(_ number: Double) { self.init(clamping: number) }
}
