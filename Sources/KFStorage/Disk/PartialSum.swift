import KFSystem

/// How many partial bodies there are, and their bytes.
package struct PartialSum: Equatable, Sendable {
    package fileprivate(set) var count = 0
    package fileprivate(set) var bytes: Int64 = 0

    mutating func add(_ size: Int64) {
        count += 1
        bytes = bytes.adding(saturating: size)
    }

    mutating func subtract(_ size: Int64) {
        count -= 1
        bytes -= size
    }

    static func + (left: PartialSum, right: PartialSum) -> PartialSum {
        PartialSum(count: left.count + right.count, bytes: left.bytes.adding(saturating: right.bytes))
    }
}
