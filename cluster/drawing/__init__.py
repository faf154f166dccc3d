"""Pictures of trees and graphs: figures (content), and their writers: SVG, DOT, text."""
