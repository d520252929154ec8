import Glibc

/// Finds the ends of a JPEG's scans while the file arrives, so that the check can skip their data.
///
/// It walks the markers like `JPEGMarkerWalk`, and stops where that would throw.
struct JPEGScanData: ArrivalReader {
    private enum Part {
        case data
        /// Behind one or more FF bytes, the first of which is at `start`.
        case marker(start: Int)
        case length(high: UInt8?)
        case segment(left: Int)
        /// Nothing more is read.
        case end
    }

    /// A progressive file has about ten scans. Beyond this number, scans are not recorded and the check walks them.
    private static let mostRuns = 64

    private var part = Part.data
    /// The offset of the next byte.
    private var position = 0
    private var isScanHeader = false
    /// The offset of the current scan's data.
    private var start: Int?
    /// The data of each scan, from the end of its header to the next marker that is not a restart marker.
    private var runs: [Range<Int>] = []

    mutating func read(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        var index = 0
        while index < bytes.count {
            switch part {
            case .data:
                guard let found = memchr(base + index, 0xFF, bytes.count - index) else {
                    index = bytes.count
                    continue
                }
                index = UnsafeRawPointer(found) - base
                part = .marker(start: position + index)
                index += 1
            case .marker(let start):
                proceed(behind: bytes[index], start: start)
                index += 1
            case .length(nil):
                part = .length(high: bytes[index])
                index += 1
            case .length(let high?):
                let length = Int(high) << 8 | Int(bytes[index])
                index += 1
                part = length < 2 ? .end : .segment(left: length - 2)
                if length == 2 { beginData(at: position + index) }
            case .segment(let left):
                let count = min(left, bytes.count - index)
                index += count
                part = .segment(left: left - count)
                if count == left { beginData(at: position + index) }
            case .end: return
            }
        }
        position += bytes.count
    }

    func part(from position: Int) -> ArrivedPart? {
        runs.first { $0.lowerBound == position }.map { ArrivedPart(end: $0.upperBound, dataBytes: $0.count) }
    }

    private mutating func proceed(behind marker: UInt8, start: Int) {
        switch marker {
        case 0xFF: break
        case 0x00, 0x01, 0xD0...0xD8: part = .data
        default:
            if let begin = self.start { runs.append(begin..<start) }
            self.start = nil
            isScanHeader = marker == 0xDA
            part = marker == 0xD9 || runs.count == Self.mostRuns ? .end : .length(high: nil)
        }
    }

    private mutating func beginData(at position: Int) {
        part = .data
        start = isScanHeader ? position : nil
    }
}
