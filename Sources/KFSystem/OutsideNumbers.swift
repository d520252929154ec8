/// Floating-point numbers as integers.
///
/// Swift's conversion ends the process for NaN, for infinity and for what does not fit. Numbers from outside (a header, a
/// list, an index that another program wrote) can be any of these, often behind some arithmetic. So the deprecated
/// initializers below replace Swift's in all modules that see this one, where a warning is an error.
extension FixedWidthInteger {
    /// The number without its fraction: the nearest one that fits, and 0 for NaN.
    @inlinable package init(clamping number: some BinaryFloatingPoint) {
        self = Self(exactly: number.rounded(.towardZero)) ?? (number > 0 ? .max : number < 0 ? .min : 0)
    }
}

extension Int {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    package init(_ number: Double) { self.init(clamping: number) }
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    package init(_ number: Float) { self.init(clamping: number) }
}

extension Int64 {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    package init(_ number: Double) { self.init(clamping: number) }
}

extension Int32 {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    package init(_ number: Double) { self.init(clamping: number) }
}

extension UInt64 {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    package init(_ number: Double) { self.init(clamping: number) }
}

extension UInt32 {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    package init(_ number: Double) { self.init(clamping: number) }
}

extension UInt8 {
    @available(*, deprecated, message: "it traps; use init(clamping:) or init(exactly:)")
    package init(_ number: Double) { self.init(clamping: number) }
}
