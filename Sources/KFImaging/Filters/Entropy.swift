import Glibc

/// Places a crop where a picture has the most information: of the two strips at opposite edges, the one with the lower
/// entropy is cut off, until the size is reached.
enum Entropy {
    /// The number of cuts in the direction that has more to lose.
    private static let cuts = 8

    /// Returns the rectangle of this size; it must fit into the picture.
    static func rectangle(_ size: PixelSize, in bitmap: Bitmap) throws(ImagingError) -> PixelRectangle {
        let bitmap = try bitmap.flattened(onto: .black)
        var part = PixelRectangle(x: 0, y: 0, size: bitmap.size)
        let most = max(bitmap.width - size.width, bitmap.height - size.height)
        let step = (most + cuts - 1) / cuts
        while part.size != size {
            for (place, side) in [(\PixelRectangle.x, \PixelSize.width), (\.y, \.height)] {
                let length = part.size[keyPath: side]
                let cut = min(length - size[keyPath: side], step)
                guard cut > 0 else { continue }
                var (first, last) = (part, part)
                (first.size[keyPath: side], last.size[keyPath: side]) = (cut, cut)
                last[keyPath: place] += length - cut
                if try entropy(of: first, in: bitmap) < entropy(of: last, in: bitmap) { part[keyPath: place] += cut }
                part.size[keyPath: side] = length - cut
            }
        }
        return part
    }

    /// The information in a part, in bits for each sample of all channels together.
    private static func entropy(of part: PixelRectangle, in bitmap: Bitmap) throws(ImagingError) -> Double {
        let channels = bitmap.format.channelCount
        var counts = [Int](repeating: 0, count: 256 * channels)
        try bitmap.withUnsafeRows { (rows) throws(ImagingError) in
            var pace = Pace()
            for y in part.y..<part.y + part.size.height {
                try pace.advance(part.size.width)
                let row = rows.row(y) + part.x * channels
                for index in 0..<part.size.width * channels { counts[256 * (index % channels) + Int(row[index])] += 1 }
            }
        }
        let total = Double(part.size.width * part.size.height)
        return counts.reduce(0) { sum, count in
            count == 0 ? sum : sum - Double(count) / total * log2(Double(count) / total)
        }
    }
}
