/// Saturating arithmetic, for numbers from an index that another program may have written: it never traps.
extension FixedWidthInteger where Self: SignedInteger {
    @inlinable package func adding(saturating other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }

    @inlinable package func subtracting(saturating other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    @inlinable package func multiplied(saturating other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}

extension Duration {
    /// The duration in nanoseconds; saturates at about 292 years.
    package var saturatedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.multiplied(saturating: 1_000_000_000).adding(saturating: attoseconds / 1_000_000_000)
    }
}
