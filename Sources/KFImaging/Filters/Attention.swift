import Glibc

/// Places a crop where a picture draws attention, by the rule of libvips 8.14: on a map of 32 × 32 cells, skin, edges and
/// saturated reds score, and the crop is centred on the highest score of a neighbourhood.
enum Attention {
    /// The cells of a side of the map; the position is as fine as a cell.
    private static let side = 32

    /// Returns the rectangle of this size; it must fit into the picture.
    static func rectangle(_ size: PixelSize, in bitmap: Bitmap) throws(ImagingError) -> PixelRectangle {
        let cell = (x: Double(bitmap.width) / Double(side), y: Double(bitmap.height) / Double(side))
        let window = (x: Double(size.width) / cell.x, y: Double(size.height) / cell.y)
        // A neighbourhood is as large as a tenth of the crop's diagonal.
        let diagonal = (window.x * window.x + window.y * window.y).squareRoot()
        let scores = blurred(try scores(of: bitmap), sigma: max(1, diagonal / 10))
        let best = scores.indices.max { scores[$0] < scores[$1] } ?? 0
        func start(_ cells: Int, _ scale: Double, _ length: Int, of whole: Int) -> Int {
            max(0, min(Int(clamping: Double(cells) * scale) - length / 2, whole - length))
        }
        return PixelRectangle(
            x: start(best % side, cell.x, size.width, of: bitmap.width),
            y: start(best / side, cell.y, size.height, of: bitmap.height), size: size)
    }

    /// The score of each cell, row by row.
    private static func scores(of bitmap: Bitmap) throws(ImagingError) -> [Float] {
        let small = try Resampler.resize(bitmap, to: PixelSize(width: side, height: side))
            .flattened(onto: .black).inColor()
        let cells = small.withUnsafeRows { rows in
            (0..<side * side).map { place in
                let pixel = rows.row(place / side) + 3 * (place % side)
                return xyz(SIMD3(linear(pixel[0]), linear(pixel[1]), linear(pixel[2])))
            }
        }
        func light(_ x: Int, _ y: Int) -> Float {
            cells[max(0, min(y, side - 1)) * side + max(0, min(x, side - 1))].y
        }
        return cells.indices.map { place in
            let (x, y, color) = (place % side, place / side, cells[place])
            let around = light(x - 1, y) + light(x + 1, y) + light(x, y - 1) + light(x, y + 1)
            let edge = abs(4 * color.y - around) * 5
            // Dark cells have no colour to speak of.
            return color.y < 5 ? edge : edge + skin(color) + redness(color)
        }
    }

    /// 100 for a colour with the hue of skin, less with the distance from it.
    private static func skin(_ color: SIMD3<Float>) -> Float {
        let direction = color / (color * color).sum().squareRoot()
        let distance = direction - SIMD3(0.78, 0.57, 0.44)
        return 100 - 100 * (distance * distance).sum().squareRoot()
    }

    /// The a* of CIE L*a*b*: positive for reds, negative for greens.
    private static func redness(_ color: SIMD3<Float>) -> Float {
        func lightness(_ share: Float) -> Float { share > 0.008856 ? cbrtf(share) : 7.787 * share + 16 / 116 }
        return 500 * (lightness(color.x / 95.047) - lightness(color.y / 100))
    }

    /// CIE XYZ with a white of Y = 100.
    private static func xyz(_ color: SIMD3<Float>) -> SIMD3<Float> {
        let (x, y, z) = (
            SIMD3<Float>(0.4124, 0.3576, 0.1805), SIMD3<Float>(0.2126, 0.7152, 0.0722),
            SIMD3<Float>(0.0193, 0.1192, 0.9505)
        )
        return SIMD3((x * color).sum(), (y * color).sum(), (z * color).sum()) * 100
    }

    private static func linear(_ sample: UInt8) -> Float { Float(SRGB.linear(Double(sample) / 255)) }

    /// Blurs the map with a Gaussian that ends where it falls below a fifth of its height; edges are extended.
    private static func blurred(_ scores: [Float], sigma: Double) -> [Float] {
        let reach = Int(clamping: (sigma * (2 * log(5.0)).squareRoot()).rounded(.down))
        let weights = (-reach...reach).map { Float(exp(-Double($0 * $0) / (2 * sigma * sigma))) }
        func pass(_ map: [Float], _ stepX: Int, _ stepY: Int) -> [Float] {
            map.indices.map { place in
                weights.indices.reduce(Float(0)) { sum, index in
                    let offset = index - reach
                    let x = max(0, min(place % side + offset * stepX, side - 1))
                    let y = max(0, min(place / side + offset * stepY, side - 1))
                    return sum + weights[index] * map[y * side + x]
                }
            }
        }
        return pass(pass(scores, 1, 0), 0, 1)
    }
}
