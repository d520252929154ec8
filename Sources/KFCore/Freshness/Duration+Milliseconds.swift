extension Duration {
    /// Rounded down; saturates.
    var milliseconds: Int64 {
        let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return components.seconds > 0 ? .max : .min }
        return seconds + components.attoseconds / 1_000_000_000_000_000
    }
}
